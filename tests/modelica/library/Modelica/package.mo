within;
package Modelica "Short stand-ins for the parts of the Modelica Standard Library that an archive may lack"
  annotation(version = "4.2.0-dev");
end Modelica;
