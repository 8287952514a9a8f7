within Modelica;
package Thermal "Heat transfer between lumped elements"
  import Modelica.Units.SI;
  import Modelica.Units.NonSI;

  package HeatTransfer
    package Interfaces
      partial connector HeatPort
        SI.Temperature T;
        flow SI.HeatFlowRate Q_flow;
      end HeatPort;

      connector HeatPort_a
        extends HeatPort;
      end HeatPort_a;

      connector HeatPort_b
        extends HeatPort;
      end HeatPort_b;

      partial model Element1D
        SI.HeatFlowRate Q_flow;
        SI.TemperatureDifference dT;
        HeatPort_a port_a;
        HeatPort_b port_b;
      equation
        dT = port_a.T - port_b.T;
        port_a.Q_flow = Q_flow;
        port_b.Q_flow = -Q_flow;
      end Element1D;

      partial model PartialElementaryConditionalHeatPortWithoutT
        parameter Boolean useHeatPort = false;
        HeatPort_a heatPort(final Q_flow = -lossPower) if useHeatPort;
        SI.Power lossPower;
      end PartialElementaryConditionalHeatPortWithoutT;

      partial model PartialElementaryConditionalHeatPort
        parameter Boolean useHeatPort = false;
        parameter SI.Temperature T = 293.15;
        HeatPort_a heatPort(final T = TheatPort, final Q_flow = -lossPower) if useHeatPort;
        SI.Power lossPower;
        SI.Temperature TheatPort;
      equation
        if not useHeatPort then
          TheatPort = T;
        end if;
      end PartialElementaryConditionalHeatPort;

      partial model PartialConditionalHeatPort
        parameter Boolean useHeatPort = false;
        parameter SI.Temperature T = 293.15;
        HeatPort_a heatPort if useHeatPort;
      protected
        Sources.FixedTemperature fixedTemperature(T = T) if not useHeatPort;
        HeatPort_a internalHeatPort;
      equation
        connect(heatPort, internalHeatPort);
        connect(fixedTemperature.port, internalHeatPort);
      end PartialConditionalHeatPort;
    end Interfaces;

    package Components
      model HeatCapacitor
        parameter SI.HeatCapacity C;
        SI.Temperature T(start = 293.15);
        SI.TemperatureSlope der_T(start = 0);
        Interfaces.HeatPort_a port;
      equation
        T = port.T;
        der_T = der(T);
        C*der(T) = port.Q_flow;
      end HeatCapacitor;

      model ThermalConductor
        extends Interfaces.Element1D;
        parameter SI.ThermalConductance G;
      equation
        Q_flow = G*dT;
      end ThermalConductor;

      model ThermalResistor
        extends Interfaces.Element1D;
        parameter SI.ThermalResistance R;
      equation
        dT = R*Q_flow;
      end ThermalResistor;

      model Convection
        SI.HeatFlowRate Q_flow;
        SI.TemperatureDifference dT;
        Modelica.Blocks.Interfaces.RealInput Gc(unit = "W/K");
        Interfaces.HeatPort_a solid;
        Interfaces.HeatPort_b fluid;
      equation
        dT = solid.T - fluid.T;
        solid.Q_flow = Q_flow;
        fluid.Q_flow = -Q_flow;
        Q_flow = Gc*dT;
      end Convection;

      model ThermalCollector
        parameter Integer m(min = 1) = 3;
        Interfaces.HeatPort_a port_a[m];
        Interfaces.HeatPort_b port_b;
      equation
        port_b.Q_flow + sum(port_a.Q_flow) = 0;
        port_a.T = fill(port_b.T, m);
      end ThermalCollector;
    end Components;

    package Sources
      model FixedTemperature
        parameter SI.Temperature T;
        Interfaces.HeatPort_b port;
      equation
        port.T = T;
      end FixedTemperature;

      model PrescribedTemperature
        Interfaces.HeatPort_b port;
        Modelica.Blocks.Interfaces.RealInput T(unit = "K");
      equation
        port.T = T;
      end PrescribedTemperature;

      model FixedHeatFlow
        parameter SI.HeatFlowRate Q_flow;
        parameter SI.Temperature T_ref = 293.15;
        parameter SI.LinearTemperatureCoefficient alpha = 0;
        Interfaces.HeatPort_b port;
      equation
        port.Q_flow = -Q_flow*(1 + alpha*(port.T - T_ref));
      end FixedHeatFlow;

      model PrescribedHeatFlow
        parameter SI.Temperature T_ref = 293.15;
        parameter SI.LinearTemperatureCoefficient alpha = 0;
        Modelica.Blocks.Interfaces.RealInput Q_flow(unit = "W");
        Interfaces.HeatPort_b port;
      equation
        port.Q_flow = -Q_flow*(1 + alpha*(port.T - T_ref));
      end PrescribedHeatFlow;
    end Sources;

    package Sensors
      model TemperatureSensor
        Modelica.Blocks.Interfaces.RealOutput T(unit = "K");
        Interfaces.HeatPort_a port;
      equation
        T = port.T;
        port.Q_flow = 0;
      end TemperatureSensor;

      model HeatFlowSensor
        Modelica.Blocks.Interfaces.RealOutput Q_flow(unit = "W");
        Interfaces.HeatPort_a port_a;
        Interfaces.HeatPort_b port_b;
      equation
        port_a.T = port_b.T;
        port_a.Q_flow + port_b.Q_flow = 0;
        Q_flow = port_a.Q_flow;
      end HeatFlowSensor;
    end Sensors;

    package Celsius
      model FixedTemperature
        parameter NonSI.Temperature_degC T;
        Interfaces.HeatPort_b port;
      equation
        port.T = Modelica.Units.Conversions.from_degC(T);
      end FixedTemperature;

      block FromKelvin
        parameter Integer n = 1;
        Modelica.Blocks.Interfaces.RealInput Kelvin(unit = "K");
        Modelica.Blocks.Interfaces.RealOutput Celsius(unit = "degC");
      equation
        Celsius = Modelica.Units.Conversions.to_degC(Kelvin);
      end FromKelvin;
    end Celsius;
  end HeatTransfer;
end Thermal;
