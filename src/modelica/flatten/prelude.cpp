#include "modelica/flatten/prelude.hpp"

namespace saltus::modelica {

std::string_view predefined() {
  return "type StateSelect = enumeration(never, avoid, default, prefer, always);\n"
         "type AssertionLevel = enumeration(warning, error);\n";
}

bool is_predefined(std::string_view name) {
  return name == "StateSelect" || name == "AssertionLevel";
}

std::string_view prelude() {
  return R"modelica(package Modelica
  package Constants
    constant Real pi = 3.141592653589793;
    constant Real e = 2.718281828459045;
    constant Real g_n(unit = "m/s2") = 9.80665;
    constant Real G(unit = "m3/(kg.s2)") = 6.6743e-11;
    constant Real c(unit = "m/s") = 299792458;
    constant Real h(unit = "J.s") = 6.62607015e-34;
    constant Real k(unit = "J/K") = 1.380649e-23;
    constant Real R(unit = "J/(mol.K)") = 8.31446261815324;
    constant Real N_A(unit = "1/mol") = 6.02214076e23;
    constant Real q(unit = "C") = 1.602176634e-19;
    constant Real F(unit = "C/mol") = 96485.3321233100;
    constant Real sigma(unit = "W/(m2.K4)") = 5.670374419e-8;
    constant Real epsilon_0(unit = "F/m") = 8.8541878128e-12;
    constant Real mu_0(unit = "N/A2") = 1.25663706212e-6;
    constant Real T_zero(unit = "degC") = -273.15;
    constant Real eps = 2.220446049250313e-16;
    constant Real small = 1e-60;
    constant Real inf = 1e60;
  end Constants;
  package Units
    package SI
      type Angle = Real(unit = "rad");
      type AngularVelocity = Real(unit = "rad/s");
      type AngularAcceleration = Real(unit = "rad/s2");
      type AngularFrequency = Real(unit = "rad/s");
      type Length = Real(unit = "m");
      type Position = Real(unit = "m");
      type Distance = Real(unit = "m");
      type Height = Real(unit = "m");
      type Radius = Real(unit = "m");
      type Diameter = Real(unit = "m");
      type Thickness = Real(unit = "m");
      type Area = Real(unit = "m2");
      type Volume = Real(unit = "m3");
      type Time = Real(unit = "s");
      type Duration = Real(unit = "s");
      type Period = Real(unit = "s");
      type Frequency = Real(unit = "Hz");
      type Velocity = Real(unit = "m/s");
      type Speed = Real(unit = "m/s");
      type Acceleration = Real(unit = "m/s2");
      type Mass = Real(unit = "kg");
      type Density = Real(unit = "kg/m3");
      type Inertia = Real(unit = "kg.m2");
      type MomentOfInertia = Real(unit = "kg.m2");
      type Momentum = Real(unit = "kg.m/s");
      type AngularMomentum = Real(unit = "kg.m2/s");
      type Force = Real(unit = "N");
      type Torque = Real(unit = "N.m");
      type Energy = Real(unit = "J");
      type Work = Real(unit = "J");
      type Heat = Real(unit = "J");
      type Power = Real(unit = "W");
      type Pressure = Real(unit = "Pa");
      type AbsolutePressure = Real(unit = "Pa");
      type Stress = Real(unit = "Pa");
      type TranslationalSpringConstant = Real(unit = "N/m");
      type TranslationalDampingConstant = Real(unit = "N.s/m");
      type RotationalSpringConstant = Real(unit = "N.m/rad");
      type RotationalDampingConstant = Real(unit = "N.m.s/rad");
      type MassFlowRate = Real(unit = "kg/s");
      type VolumeFlowRate = Real(unit = "m3/s");
      type DynamicViscosity = Real(unit = "Pa.s");
      type Temperature = Real(unit = "K");
      type TemperatureDifference = Real(unit = "K");
      type HeatFlowRate = Real(unit = "W");
      type HeatCapacity = Real(unit = "J/K");
      type SpecificHeatCapacity = Real(unit = "J/(kg.K)");
      type SpecificEnthalpy = Real(unit = "J/kg");
      type SpecificEnergy = Real(unit = "J/kg");
      type ThermalConductance = Real(unit = "W/K");
      type ThermalResistance = Real(unit = "K/W");
      type ThermalConductivity = Real(unit = "W/(m.K)");
      type CoefficientOfHeatTransfer = Real(unit = "W/(m2.K)");
      type Current = Real(unit = "A");
      type ElectricCurrent = Real(unit = "A");
      type Voltage = Real(unit = "V");
      type ElectricPotential = Real(unit = "V");
      type Resistance = Real(unit = "Ohm");
      type Conductance = Real(unit = "S");
      type Capacitance = Real(unit = "F");
      type Inductance = Real(unit = "H");
      type Charge = Real(unit = "C");
      type ElectricCharge = Real(unit = "C");
      type MagneticFlux = Real(unit = "Wb");
      type MagneticFluxDensity = Real(unit = "T");
      type ElectricFieldStrength = Real(unit = "V/m");
      type Concentration = Real(unit = "mol/m3");
      type AmountOfSubstance = Real(unit = "mol");
      type MolarMass = Real(unit = "kg/mol");
      type Efficiency = Real(unit = "1");
      type DimensionlessRatio = Real(unit = "1");
      type Damping = Real(unit = "s-1");
      type Conversion = Real(unit = "1");
      type CoefficientOfFriction = Real(unit = "1");
    end SI;
  end Units;
  package SIunits = Units.SI;
  package Utilities
    package Streams
      function print
        input String string = "";
        input String fileName = "";
      external "C" ModelicaInternal_print(string, fileName);
      end print;
      function error
        input String string;
      external "C" ModelicaError(string);
      end error;
    end Streams;
  end Utilities;
end Modelica;
)modelica";
}

}  // namespace saltus::modelica
